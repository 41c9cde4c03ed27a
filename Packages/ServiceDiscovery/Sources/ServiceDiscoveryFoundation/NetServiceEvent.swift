internal import Foundation
internal import ServiceDiscovery

/// What a ``NetService`` tells its delegate.
enum NetServiceEvent {
    case willPublish
    case didPublish
    case didNotPublish(ServiceDiscoveryError)
    case willResolve
    case didResolve
    case didNotResolve(ServiceDiscoveryError)
    case didStop
    case didUpdate(Data)
    case didNotMonitor(ServiceDiscoveryError)
    case didAccept(@Sendable () -> (InputStream, OutputStream))
}
