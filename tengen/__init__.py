"""The command `tengen`: one name for the programs of the other packages."""
