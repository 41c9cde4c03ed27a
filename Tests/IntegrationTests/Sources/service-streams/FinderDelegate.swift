import Foundation
import NetKitFoundation

/// Resolves the services that it finds.
final class FinderDelegate: NSObject, NetServiceBrowserDelegate, NetServiceDelegate {
    private var services: [NetService] = []

    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        ServiceStreams.say("+ \(service.name)")
        services.append(service)
        service.delegate = self
        service.resolve(withTimeout: 0)
    }

    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        services.removeAll { $0 == service }
        ServiceStreams.say("- \(service.name) of \(services.count + 1)")
    }

    func netServiceDidResolveAddress(_ sender: NetService) {
        ServiceStreams.say("\(sender.name) at \(sender.hostName ?? "") \(sender.port > 0)")
    }
}
