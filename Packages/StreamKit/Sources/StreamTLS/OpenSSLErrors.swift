internal import COpenSSL

/// The entries of OpenSSL's error queue of this thread, oldest first. Taking them empties the queue.
///
/// The queue belongs to the thread, not to a connection: it is cleared before each call whose failure is examined.
struct OpenSSLErrors {
    struct Entry {
        let library: CInt
        let reason: CInt
        let text: String
    }

    /// SSL reasons from this number on are alerts from the peer (`SSL_AD_REASON_OFFSET`).
    private static let alertOffset: CInt = 1000

    let entries: [Entry]

    /// The maximum number of entries taken; OpenSSL keeps no more than 16.
    private static let most = 16

    static func take() -> OpenSSLErrors {
        var entries: [Entry] = []
        while entries.count < most {
            let code = ERR_get_error()
            if code == 0 { break }
            let text = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(code)"
            entries.append(Entry(library: ERR_GET_LIB(code), reason: ERR_GET_REASON(code), text: text))
        }
        ERR_clear_error()
        return OpenSSLErrors(entries: entries)
    }

    /// The alert that the peer sent, if that is the failure.
    var alert: CInt? {
        entries.first { $0.library == ERR_LIB_SSL && $0.reason >= Self.alertOffset }.map {
            $0.reason - Self.alertOffset
        }
    }

    /// Empties the queue. Checking first is twenty times as fast as clearing an empty queue.
    static func clear() {
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    func contains(_ reason: CInt, of library: CInt = ERR_LIB_SSL) -> Bool {
        entries.contains { $0.library == library && $0.reason == reason }
    }

    /// OpenSSL's own text, for messages.
    var text: String {
        entries.isEmpty ? "no reason given" : entries.map(\.text).joined(separator: ", ")
    }
}
