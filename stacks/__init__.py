"""Infrastructure of one data region, put together once per region."""
