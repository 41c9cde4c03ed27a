// These classes take and return StreamKit's streams, so one import is enough.
@_exported public import StreamKit
