"""A run's directory: state, log, live line, report, bundle, shipping its net."""
