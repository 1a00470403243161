"""Memory: what OPTIMIZE needs on the driver and in its tasks."""
