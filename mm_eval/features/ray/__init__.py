"""One model on many machines: workers on Ray, and the fleet that asks them."""

EXECUTORS = {"ray": "executor:fleet_of"}
OPTIONS = {"ray": "options"}
SHARED = {"ray": "executor:on_one_cluster"}
