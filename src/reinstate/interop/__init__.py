"""Tasks inside the tools that other people use: each module needs its package only when used."""
