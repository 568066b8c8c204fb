"""What makes the generated parts of the documentation: `make pictures` and `make reference`."""
