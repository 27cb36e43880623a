"""Nets: the tower, the stem of a line net, growing an old net into a deeper one."""
