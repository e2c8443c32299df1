"""The page behind the links to leave: shows what a link is for, and opts out on a POST."""
