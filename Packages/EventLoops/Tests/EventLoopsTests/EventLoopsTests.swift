import Testing

/// All tests of the package, one after another: several count the process's descriptors, which others must not change.
@Suite(.serialized) enum EventLoopsTests {}
