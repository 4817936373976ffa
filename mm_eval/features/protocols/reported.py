"""What another feature may use of protocols: which settings a report has, and where a run differs from them (`REPORTS`)."""

from mm_eval.features.protocols.protocol import SETTINGS
from mm_eval.features.protocols.run_under import compared_with, protocol_of
from mm_eval.features.protocols.verdicts import differences, protocol_results

__all__ = ["SETTINGS", "compared_with", "differences", "protocol_of", "protocol_results"]
