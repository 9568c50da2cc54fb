"""One module for each framework; each imports its framework only when it is used."""
