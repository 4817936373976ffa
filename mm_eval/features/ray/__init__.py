"""One model on many machines: workers on Ray, and the fleet that asks them."""

EXECUTORS = {"ray": "executor:fleet_of"}
SHARED = {"ray": "executor:on_one_cluster"}
