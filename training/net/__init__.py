"""What a net is: the tower, the stem of a line net, growing an old net into a deeper one."""
