"""One model on many machines: workers on Ray, and the fleet that asks them."""
