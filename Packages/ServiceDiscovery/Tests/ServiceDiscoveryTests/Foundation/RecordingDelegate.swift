import Foundation
import ServiceDiscoveryFoundation

/// Records its calls; used by one thread.
final class RecordingDelegate: NetServiceDelegate, NetServiceBrowserDelegate {
    var calls: [String] = []
    var found: [NetService] = []

    /// Runs the thread's run loop until there were this many calls, for at most ten seconds.
    func run(until count: Int, mode: RunLoop.Mode = .default) {
        let end = Date() + 10
        while calls.count < count, Date() < end { _ = RunLoop.current.run(mode: mode, before: end) }
    }

    /// Runs the thread's run loop until a condition is true, for at most ten seconds.
    func run(until isDone: () -> Bool) {
        let end = Date() + 10
        while !isDone(), Date() < end { _ = RunLoop.current.run(mode: .default, before: end) }
    }

    private func number(_ dictionary: [String: NSNumber]) -> String {
        "\(dictionary[NetService.errorCode] ?? 0) of \(dictionary[NetService.errorDomain] ?? 0)"
    }

    func netServiceWillPublish(_ sender: NetService) { calls.append("willPublish") }
    func netServiceDidPublish(_ sender: NetService) { calls.append("didPublish \(sender.name)") }
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {
        calls.append("didNotPublish \(number(errorDict))")
    }
    func netServiceWillResolve(_ sender: NetService) { calls.append("willResolve") }
    func netServiceDidResolveAddress(_ sender: NetService) {
        calls.append("didResolve \(sender.hostName ?? "") \(sender.port) \(sender.addresses?.count ?? 0)")
    }
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {
        calls.append("didNotResolve \(number(errorDict))")
    }
    func netServiceDidStop(_ sender: NetService) { calls.append("didStop") }
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {
        calls.append("didUpdate \(TXTRecord(wire: data))")
    }
    func netService(_ sender: NetService, didNotMonitor errorDict: [String: NSNumber]) {
        calls.append("didNotMonitor \(number(errorDict))")
    }

    func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) { calls.append("willSearch") }
    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) { calls.append("didStopSearch") }
    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {
        calls.append("didNotSearch \(number(errorDict))")
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool) {
        calls.append("found \(domainString) \(moreComing)")
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {
        found.append(service)
        calls.append("found \(service.name) \(service.type) \(service.domain) \(moreComing)")
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool) {
        calls.append("removed \(domainString) \(moreComing)")
    }
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {
        found.removeAll { $0 == service }
        calls.append("removed \(service.name) \(moreComing)")
    }
}
