"""What was written for former interfaces of mm-eval still runs: adapters that have members which `Model` had once."""

ADAPTERS = {"former": "adapters"}
