"""Does what the buttons of the widgets say. Whoever may not invoke this function can look, and change nothing."""
