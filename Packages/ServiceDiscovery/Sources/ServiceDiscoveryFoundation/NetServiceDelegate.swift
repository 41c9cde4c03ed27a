public import Foundation

/// Told what becomes of a ``NetService``, on the run loops that it is scheduled on. Every method may be left out.
public protocol NetServiceDelegate: AnyObject {
    /// The service is about to be published; it is not visible yet, and it may still fail.
    func netServiceWillPublish(_ sender: NetService)
    /// The service is visible. Its name may be another now: save that one for the next start. Comes again if a later conflict
    /// brings yet another name.
    func netServiceDidPublish(_ sender: NetService)
    /// The service could not be published, or is published no more; why stands under ``NetService/errorCode``.
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber])
    /// Resolving begins.
    func netServiceWillResolve(_ sender: NetService)
    /// Something is known of where the service is, or something more: host name and port, and at least one address. Comes
    /// several times; check that what is needed is there.
    func netServiceDidResolveAddress(_ sender: NetService)
    /// Nothing was found; why stands under ``NetService/errorCode``.
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber])
    /// Publishing or resolving was ended by ``NetService/stop()``, or resolving by its time limit after something was found.
    func netServiceDidStop(_ sender: NetService)
    /// The TXT record, when monitoring begins, and each time that it changes.
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data)
    /// Monitoring could not begin, or has ended, for a reason that will not pass; why stands under ``NetService/errorCode``. It can
    /// be started again. Foundation on other platforms has no such call, and is silent.
    func netService(_ sender: NetService, didNotMonitor errorDict: [String: NSNumber])
    /// Somebody has connected to a service that was published with ``NetService/Options/listenForConnections``. The streams are
    /// not open. Letting them go refuses the connection.
    func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream)
}

extension NetServiceDelegate {
    /// Nothing.
    public func netServiceWillPublish(_ sender: NetService) {}
    /// Nothing.
    public func netServiceDidPublish(_ sender: NetService) {}
    /// Nothing.
    public func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {}
    /// Nothing.
    public func netServiceWillResolve(_ sender: NetService) {}
    /// Nothing.
    public func netServiceDidResolveAddress(_ sender: NetService) {}
    /// Nothing.
    public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {}
    /// Nothing.
    public func netServiceDidStop(_ sender: NetService) {}
    /// Nothing.
    public func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {}
    /// Nothing.
    public func netService(_ sender: NetService, didNotMonitor errorDict: [String: NSNumber]) {}
    /// Refuses the connection.
    public func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream
    ) {}
}
