@_spi(Packages) internal import EventLoops
internal import Glibc

/// The catalogue of StreamKit's messages: what failed, where, and what to do.
extension Sentence {
    package static let cancelled = Sentence("stream.cancelled", "The operation was cancelled.")
    package static let closed = Sentence("stream.closed", "The stream was closed on this side.")
    package static let busy = Sentence(
        "stream.busy",
        "Another call is in progress on this half of the stream: wait for it, or use one reader and one writer.")
    package static let timedOut = Sentence("stream.timedOut", "The operation timed out without progress.")
    package static let notOpen = Sentence("stream.notOpen", "The stream is not open; call open() first.")
    package static let alreadyOpened = Sentence(
        "stream.alreadyOpened", "The stream has been opened before. A stream can be opened only once: make a new one.")

    package static func posix(_ number: Int32) -> Sentence {
        Sentence("posix.\(number)", "System error: %1 (errno %2).", SystemCall.text(of: number), String(number))
    }

    package static func connectFailed(_ address: String, _ number: Int32) -> Sentence {
        switch number {
        case ECONNREFUSED:
            Sentence("connect.refused", "The connection to %1 was refused: nothing is listening there.", address)
        case ETIMEDOUT:
            Sentence("connect.timedOut", "%1 did not answer within the time limit.", address)
        case ENETUNREACH, EHOSTUNREACH:
            Sentence("connect.unreachable", "There is no route to %1: %2.", address, SystemCall.text(of: number))
        case ENOENT:
            Sentence("connect.noSocket", "There is no socket at %1.", address)
        default:
            Sentence("connect.failed", "The connection to %1 failed: %2.", address, SystemCall.text(of: number))
        }
    }

    package static func connectionLost(_ number: Int32) -> Sentence {
        Sentence("connection.lost", "The connection was lost: %1.", SystemCall.text(of: number))
    }

    package static func openTimedOut(_ step: String) -> Sentence {
        Sentence("open.timedOut", "Opening timed out while %1.", step)
    }

    package static func nameNotResolved(_ name: String, _ reason: String) -> Sentence {
        Sentence("resolve.failed", "The name %1 cannot be resolved: %2.", name, reason)
    }

    package static func propertyRefused(_ name: String, _ rule: String) -> Sentence {
        Sentence("property.refused", "The property %1 cannot be set: %2", name, rule)
    }

    static func propertyNotHonoured(_ name: String, _ kind: String) -> Sentence {
        Sentence("property.notHonoured", "The property %1 cannot be set: %2 does not support it.", name, kind)
    }
}

extension StreamError {
    /// - Parameter number: `errno`.
    package static func fileNotOpened(_ path: String, _ number: Int32) -> StreamError {
        StreamError(
            posix: number,
            Sentence("file.open", "The file %1 cannot be opened: %2.", path, SystemCall.text(of: number)),
            reason: .localFile)
    }
}
