internal import Foundation
internal import ServiceDiscovery

extension NetService {
    /// How a service is published. Unknown bits make publishing fail with
    /// ``ErrorCode/badArgumentError``.
    public struct Options: OptionSet, Sendable {
        /// The bits.
        public let rawValue: UInt

        /// The options with these bits.
        public init(rawValue: UInt) {
            self.rawValue = rawValue
        }

        /// If the name is taken, publishing fails with ``NetService/ErrorCode/collisionError`` rather than under another name.
        /// Replaces `NSNetServiceNoAutoRename`.
        public static let noAutoRename = Options(rawValue: 1 << 0)
        /// Connections are accepted, on IPv4 and IPv6, at the service's port, or at a free one if that is 0, and handed to the
        /// delegate. Only for types over TCP, and only where NetKitFoundation is linked, which has the streams. Replaces
        /// `NSNetServiceListenForConnections`.
        public static let listenForConnections = Options(rawValue: 1 << 1)
    }

    /// What the number under ``errorCode`` in a delegate's dictionary means.
    public enum ErrorCode: Int, Sendable {
        /// None of the others: the daemon has gone, a system call failed. `NSNetServicesUnknownError`.
        case unknownError = -72000
        /// The name is taken. `NSNetServicesCollisionError`.
        case collisionError = -72001
        /// There is no such service. `NSNetServicesNotFoundError`.
        case notFoundError = -72002
        /// The object is at work already. `NSNetServicesActivityInProgress`.
        case activityInProgress = -72003
        /// A name, type, domain, port or option that is none. `NSNetServicesBadArgumentError`.
        case badArgumentError = -72004
        /// The operation was ended. `NSNetServicesCancelledError`.
        case cancelledError = -72005
        /// The object cannot be used any more. `NSNetServicesInvalidError`.
        case invalidError = -72006
        /// Nothing at all was found in time. `NSNetServicesTimeoutError`.
        case timeoutError = -72007
        /// Connections are to be accepted, and NetKitFoundation, which has the streams for them, is not linked.
        /// `NSNetServicesMissingRequiredConfigurationError`.
        case missingRequiredConfigurationError = -72008
    }

    /// The key of the error's number in a delegate's dictionary. Replaces `NSNetServicesErrorCode`.
    public class var errorCode: String { "NSNetServicesErrorCode" }
    /// The key of the number's domain in a delegate's dictionary: 10 for ``ErrorCode``, 1 for `errno`. Replaces
    /// `NSNetServicesErrorDomain`.
    public class var errorDomain: String { "NSNetServicesErrorDomain" }

    static func dictionary(of error: ServiceDiscoveryError) -> [String: NSNumber] {
        // Who switches over Apple's codes finds one of them; errno values keep their domain.
        let isKnown = error.domain != .netServices || ErrorCode(rawValue: error.number) != nil
        let number = isKnown ? error.number : ErrorCode.unknownError.rawValue
        return [errorCode: NSNumber(value: number), errorDomain: NSNumber(value: error.domain.rawValue)]
    }
}
