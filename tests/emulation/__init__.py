"""AVX-512 on processors that have none: its loops are compiled against emulated instructions."""
