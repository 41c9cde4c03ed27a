public import Foundation

/// Told what a ``NetServiceBrowser`` finds, on the run loops that it is scheduled on. Every method may be left out.
public protocol NetServiceBrowserDelegate: AnyObject {
    /// The search begins.
    func netServiceBrowserWillSearch(_ browser: NetServiceBrowser)
    /// The search was ended by ``NetServiceBrowser/stop()``.
    func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser)
    /// The search could not begin, or has failed; why stands under ``NetService/errorCode``.
    func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber])
    /// A domain was found; its text ends with a dot. While `moreComing` is true the next call is at hand: wait with drawing.
    func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool)
    /// A service was found, of which name, type and domain are known. Keep it, and resolve it when it is needed. While
    /// `moreComing` is true the next call is at hand: wait with drawing.
    func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool)
    /// A domain has gone.
    func netServiceBrowser(
        _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool)
    /// A service has gone: an object that is equal to the one that was found.
    func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool)
}

extension NetServiceBrowserDelegate {
    /// Nothing.
    public func netServiceBrowserWillSearch(_ browser: NetServiceBrowser) {}
    /// Nothing.
    public func netServiceBrowserDidStopSearch(_ browser: NetServiceBrowser) {}
    /// Nothing.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didNotSearch errorDict: [String: NSNumber]) {}
    /// Nothing.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didFindDomain domainString: String, moreComing: Bool
    ) {}
    /// Nothing.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didFind service: NetService, moreComing: Bool) {}
    /// Nothing.
    public func netServiceBrowser(
        _ browser: NetServiceBrowser, didRemoveDomain domainString: String, moreComing: Bool
    ) {}
    /// Nothing.
    public func netServiceBrowser(_ browser: NetServiceBrowser, didRemove service: NetService, moreComing: Bool) {}
}
