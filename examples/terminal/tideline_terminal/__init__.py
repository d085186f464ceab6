"""A chat client in the terminal, on Tideline: see README.md beside this package."""
