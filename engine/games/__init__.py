"""Games as files and text: readers and writers of every form, trees with variations, reviews."""
