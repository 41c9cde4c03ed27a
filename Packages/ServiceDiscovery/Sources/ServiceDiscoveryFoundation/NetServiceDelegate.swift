public import Foundation
internal import ServiceDiscovery

/// Receives the events of a ``NetService``, on the run loops on which it is scheduled. All methods are optional.
public protocol NetServiceDelegate: AnyObject {
    /// The service is about to be published. It is not visible yet, and publishing may still fail.
    func netServiceWillPublish(_ sender: NetService)
    /// The service is visible. Its name may have changed; save it for the next start. Called again if a later conflict
    /// changes the name.
    func netServiceDidPublish(_ sender: NetService)
    /// The service could not be published, or is not published any more; the number under ``NetService/errorCode`` is
    /// the reason.
    func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber])
    /// Resolving begins.
    func netServiceWillResolve(_ sender: NetService)
    /// The host name, the port and at least one address are known, or have changed. Called several times; check whether
    /// the needed values are present.
    func netServiceDidResolveAddress(_ sender: NetService)
    /// Resolving found nothing; the number under ``NetService/errorCode`` is the reason.
    func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber])
    /// Publishing or resolving was ended by ``NetService/stop()``, or resolving ended at its time limit with a result.
    func netServiceDidStop(_ sender: NetService)
    /// The TXT record, when monitoring begins and each time it changes.
    func netService(_ sender: NetService, didUpdateTXTRecord data: Data)
    /// Monitoring could not begin, or has ended, for a permanent reason; the number under ``NetService/errorCode`` is
    /// the reason. Monitoring can be started again. Foundation on other platforms has no such method.
    func netService(_ sender: NetService, didNotMonitor errorDict: [String: NSNumber])
    /// A client has connected to a service that was published with ``NetService/Options/listenForConnections``. The
    /// streams are not open. Releasing them refuses the connection.
    func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream)
}

extension NetServiceDelegate {
    /// Does nothing.
    public func netServiceWillPublish(_ sender: NetService) {}
    /// Does nothing.
    public func netServiceDidPublish(_ sender: NetService) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didNotPublish errorDict: [String: NSNumber]) {}
    /// Does nothing.
    public func netServiceWillResolve(_ sender: NetService) {}
    /// Does nothing.
    public func netServiceDidResolveAddress(_ sender: NetService) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didNotResolve errorDict: [String: NSNumber]) {}
    /// Does nothing.
    public func netServiceDidStop(_ sender: NetService) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didUpdateTXTRecord data: Data) {}
    /// Does nothing.
    public func netService(_ sender: NetService, didNotMonitor errorDict: [String: NSNumber]) {}
    /// Refuses the connection.
    public func netService(
        _ sender: NetService, didAcceptConnectionWith inputStream: InputStream, outputStream: OutputStream
    ) {}
}

extension NetService {
    /// Options for publishing. With unknown bits, publishing fails with ``ErrorCode/badArgumentError``.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// Creates options with these bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// If the name is taken, publishing fails with ``NetService/ErrorCode/collisionError`` instead of renaming the
        /// service. Replaces `NSNetServiceNoAutoRename`.
        public static let noAutoRename = Options(rawValue: 1 << 0)
        /// Accepts connections over IPv4 and IPv6 at the service's port, or at a free port if that is 0, and passes
        /// them to the delegate. Requires a TCP type and NetKitFoundation, which provides the streams. Replaces
        /// `NSNetServiceListenForConnections`.
        public static let listenForConnections = Options(rawValue: 1 << 1)
    }

    /// The meaning of the number under ``errorCode`` in a delegate's error dictionary.
    public enum ErrorCode: Int, Sendable {
        /// Any other failure, such as that of the daemon or of a system call. `NSNetServicesUnknownError`.
        case unknownError = -72000
        /// The name is taken. `NSNetServicesCollisionError`.
        case collisionError = -72001
        /// The service does not exist. `NSNetServicesNotFoundError`.
        case notFoundError = -72002
        /// Another operation of the object is running. `NSNetServicesActivityInProgress`.
        case activityInProgress = -72003
        /// A name, type, domain, port or option is invalid. `NSNetServicesBadArgumentError`.
        case badArgumentError = -72004
        /// The operation was cancelled. `NSNetServicesCancelledError`.
        case cancelledError = -72005
        /// The object can no longer be used. `NSNetServicesInvalidError`.
        case invalidError = -72006
        /// No result within the time limit. `NSNetServicesTimeoutError`.
        case timeoutError = -72007
        /// Connections were requested without NetKitFoundation, which provides their streams.
        /// `NSNetServicesMissingRequiredConfigurationError`.
        case missingRequiredConfigurationError = -72008
    }

    /// The key of the error's number in a delegate's dictionary. Replaces `NSNetServicesErrorCode`.
    public class var errorCode: String { "NSNetServicesErrorCode" }
    /// The key of the number's domain in a delegate's dictionary: 10 for ``ErrorCode``, 1 for `errno`. Replaces
    /// `NSNetServicesErrorDomain`.
    public class var errorDomain: String { "NSNetServicesErrorDomain" }

    static func dictionary(of error: ServiceDiscoveryError) -> [String: NSNumber] {
        // Only codes known on Apple's platforms are returned; `errno` values keep their own domain.
        let isKnown = error.domain != .netServices || ErrorCode(rawValue: error.number) != nil
        let number = isKnown ? error.number : ErrorCode.unknownError.rawValue
        return [errorCode: NSNumber(value: number), errorDomain: NSNumber(value: error.domain.rawValue)]
    }
}
