"""What the tests of several folders share: a test imports from here, never from another test."""
