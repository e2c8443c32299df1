"""What it costs to plan, carry and settle a delivery: ratios to a floor, counts and growth, never a bare time."""
