// `import NetKitFoundation` imports all counterparts of Apple's frameworks.
@_exported public import NetKit
@_exported public import ServiceDiscoveryFoundation
@_exported public import StreamKitFoundation
