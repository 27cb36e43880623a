"""Long runs, outside of `make test`: does anything grow, hang or get lost after hours?"""
