@_exported public import HostResolver
