// The fronts are made from streams and give them back: one import is enough.
@_exported public import StreamKit
