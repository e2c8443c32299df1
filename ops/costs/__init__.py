"""What sending costs: measured counts, dated prices, and the reckoning between them."""
