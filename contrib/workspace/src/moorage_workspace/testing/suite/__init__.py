"""The conformance suite, a topic a file; assembled in :mod:`moorage_workspace.testing.conformance`."""
