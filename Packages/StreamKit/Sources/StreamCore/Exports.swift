// Their types stand in this package's API: one `import StreamKit` is enough.
@_exported public import EventLoops
@_exported public import HostResolver
