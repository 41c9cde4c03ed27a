// What comes from Apple's platforms, in one import.
@_exported public import NetKit
@_exported public import ServiceDiscoveryFoundation
@_exported public import StreamKitFoundation
