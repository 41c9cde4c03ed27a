internal import StreamKit
internal import Synchronization

/// A control connection, and the dialogue on it.
final class FTPControl: @unchecked Sendable {
    // Unchecked: it has one owner at a time, who uses it inside a lock: the conversation that took or made it, or the pool.

    private static let numbers = Atomic<UInt64>(0)

    let key: FTPSessionKey
    var pair: StreamPair
    /// What ``pair`` stands on, be it the connection before TLS or that with it; nil if it stands on nothing.
    var plain: StreamPair?
    /// What TLS had agreed on before it ended (CCC).
    var clearedTLS: TLSInformation?
    var machine: FTPMachine
    var parser = FTPReplyParser()
    /// Received and not yet parsed.
    var received: ArraySlice<UInt8> = []
    var outgoing: [UInt8] = []
    var sent = 0
    /// It has done a job before this one, and the server may have given it up meanwhile.
    var isReused = false
    /// Data connections resume this session's TLS and no other's: servers demand that it is this very session.
    let sessionGroup: String

    init(_ pair: StreamPair, key: FTPSessionKey, machine: FTPMachine, group: String) {
        self.pair = pair
        self.key = key
        self.machine = machine
        sessionGroup = group
    }

    /// A name for the TLS sessions of one control connection.
    static func group(_ key: FTPSessionKey) -> String {
        "FTP \(key.host) \(key.port) \(numbers.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    /// True if it can do another job: logged in, quiet, nothing left over.
    var isIdle: Bool {
        machine.isUsable && machine.unansweredSigns == 0 && parser.isEmpty && received.isEmpty && sent == outgoing.count
            && pair.output.status == .open
            && pair.input.status == .open && !pair.input.hasBytesAvailable
    }

    func close() {
        pair.close()
        plain?.close()
    }
}
