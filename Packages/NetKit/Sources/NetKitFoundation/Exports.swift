// `import NetKitFoundation` imports all counterparts of Apple's classes, except delivery on run loops (RunLoopDelivery).
@_exported public import NetKit
@_exported public import ServiceDiscoveryFoundation
@_exported public import StreamKitFoundation
