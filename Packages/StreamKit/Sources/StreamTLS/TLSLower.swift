internal import COpenSSL
internal import EventLoops
internal import Glibc

/// Connects OpenSSL with the transport below: a BIO whose callbacks read and write that transport.
///
/// Theory of operation. A BIO can only report "failed" or "try again", and after "failed" OpenSSL considers the whole
/// connection dead. Therefore this BIO never fails. If the lower transport would block, has ended or threw, it reports
/// "try again" and records what happened, and ``TLSEndpoint`` reads the true reason here. Thus an end in one direction
/// leaves the other one usable, and an ECONNRESET is reported as such.
///
/// Writing always succeeds: bytes that the lower transport does not take at once are kept in ``unsent``. OpenSSL
/// encrypts a record before it offers it here and could not take it back. A record that was made counts as written, so
/// the caller may continue with any bytes. The endpoint makes no new record while bytes are unsent, so they are at most
/// one record, or one flight of the handshake.
final class TLSLower {
    let transport: any StreamTransport

    /// The interest of the last read that would block.
    private(set) var readInterest = Interest.readable
    /// The interest that the unsent bytes wait for.
    private(set) var writeInterest = Interest.writable
    /// Whether the lower transport is at its end.
    private(set) var isEnded = false
    private(set) var readFailure: StreamError?
    private(set) var writeFailure: StreamError?
    /// The number of bytes received since the last useful message; see ``TLSEndpoint``.
    var received = 0
    /// The number of bytes that the present call may still take; see ``TLSEndpoint/bytesPerCall``.
    private var byteBudget = TLSEndpoint.bytesPerCall
    /// The number of records that the present call may still take; see ``TLSEndpoint/recordsPerCall``.
    private var recordBudget = TLSEndpoint.recordsPerCall
    /// Where the records end in what was received.
    private var bounds = TLSRecordBounds()
    /// Bytes that were received together with those that OpenSSL has; see ``TLSEndpoint/recordsPerRead``.
    private var held: ArraySlice<UInt8> = []
    /// Whether the present call has read.
    private var hasRead = false
    /// Whether the last read returned nothing because the call had used up its budget.
    private(set) var isBudgetSpent = false
    /// The first bytes from the peer that OpenSSL has read; see ``readBeginning()``.
    private var beginning: [UInt8] = []

    /// Whether to drop everything that OpenSSL writes: close_notify was the last message, and the bytes after it may
    /// not be TLS.
    var isFinished = false

    private var unsent: [UInt8] = []
    private var sent = 0

    /// The maximum number of unsent bytes. Only a peer that provokes answers and does not read them can reach it; then
    /// reading stops.
    static let maximumUnsent = 256 << 10
    private static let beginningLength = 24

    init(_ transport: any StreamTransport) {
        self.transport = transport
    }

    var hasUnsent: Bool { !unsent.isEmpty }

    /// Begins a call, which may take ``TLSEndpoint/bytesPerCall`` bytes and ``TLSEndpoint/recordsPerCall`` records.
    func beginCall() {
        (byteBudget, recordBudget) = (TLSEndpoint.bytesPerCall, TLSEndpoint.recordsPerCall)
        (isBudgetSpent, hasRead) = (false, false)
    }

    /// Sends the unsent bytes. Returns the interest to wait for if the lower transport does not take all of them.
    func flush() throws(StreamError) -> Interest? {
        if let writeFailure { throw writeFailure }
        while sent < unsent.count {
            do throws(StreamError) {
                switch try transport.tryWrite(unsent.span.bytes.extracting(droppingFirst: sent)) {
                case .moved(let count): sent += count
                case .wouldBlock(let interest):
                    writeInterest = interest
                    return interest
                case .ended: throw StreamError(posix: EPIPE, .connectionLost(EPIPE))
                }
            } catch {
                fail(error)
                throw error
            }
        }
        forgetUnsent()
        return nil
    }

    /// The first bytes from the peer, to describe a peer that does not speak TLS. Reads what has arrived of them, because some versions of
    /// OpenSSL read no more than the five bytes of a record's header; nothing can be read afterwards.
    func readBeginning() -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: TLSLower.beginningLength)
        while beginning.count < TLSLower.beginningLength, !isEnded, readFailure == nil {
            var span = buffer.mutableSpan
            var bytes = span.mutableBytes
            guard case .moved(let count)? = try? transport.tryRead(into: &bytes) else { break }
            beginning += buffer.prefix(min(count, TLSLower.beginningLength - beginning.count))
        }
        return beginning
    }

    private func fail(_ error: StreamError) {
        writeFailure = error
        forgetUnsent()
    }

    private func forgetUnsent() {
        unsent = []
        sent = 0
    }

    // MARK: Callbacks

    /// Makes a BIO that calls this object. The caller must keep this object alive for as long as the BIO exists.
    func makeBIO() -> OpaquePointer? {
        guard let method = TLSLower.method?.pointer, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        // OpenSSL reads these flags only after a call that moved nothing, which it then reports as one to be repeated.
        BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY)
        return bio
    }

    /// Begins a read. Returns false if nothing more can be read, or if the present call has used up its budget. The loop's share of time does
    /// not stop the first read of a call.
    private func beginRead() -> Bool {
        if isEnded || readFailure != nil { return false }
        if byteBudget == 0 || recordBudget == 0 || (hasRead && transport.waitPoint.loop.isShareSpent) {
            isBudgetSpent = true
            return false
        }
        hasRead = true
        return true
    }

    /// Takes records from the front of what has arrived, and holds the bytes behind the last one for the next read.
    private func take(_ arrived: UnsafeRawBufferPointer) -> Int {
        if beginning.count < TLSLower.beginningLength {
            beginning += arrived.prefix(TLSLower.beginningLength - beginning.count)
        }
        let taken = admit(in: RawSpan(_unsafeBytes: arrived))
        held = ArraySlice(arrived[taken...])
        return taken
    }

    private func takeHeld(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        let next = held.prefix(buffer.count)
        let taken = admit(in: next.span.bytes)
        buffer.copyBytes(from: next.prefix(taken))
        held = held.count == taken ? [] : held.dropFirst(taken)
        return taken
    }

    /// Determines how many of these bytes OpenSSL receives now, and subtracts them and their records from the budgets. Returns their number.
    private func admit(in bytes: RawSpan) -> Int {
        let maximum = min(recordBudget, TLSEndpoint.recordsPerRead)
        let taken = bounds.advance(over: bytes, maximumRecords: maximum)
        recordBudget -= taken.records
        byteBudget -= taken.bytes
        received += taken.bytes
        return taken.bytes
    }

    /// Takes all bytes. Returns -1 only beyond ``maximumUnsent``.
    fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> CInt {
        if isFinished || writeFailure != nil { return CInt(bytes.count) }
        var count = 0
        do throws(StreamError) {
            let isClear = hasUnsent ? try flush() == nil : true
            if isClear {
                send: while count < bytes.count {
                    let rest = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[count...]))
                    switch try transport.tryWrite(rest) {
                    case .moved(let moved): count += moved
                    case .wouldBlock(let interest):
                        writeInterest = interest
                        break send
                    case .ended: throw StreamError(posix: EPIPE, .connectionLost(EPIPE))
                    }
                }
            }
            if count < bytes.count {
                if unsent.count - sent + bytes.count > TLSLower.maximumUnsent { return -1 }
                unsent += bytes[count...]
            }
        } catch {
            fail(error)
        }
        return CInt(bytes.count)
    }

    /// The table of callbacks, one for the process.
    private static let method = BIOMethod(name: "StreamKit transport") { method in
        // Fills the buffer with at most `TLSEndpoint.recordsPerRead` records: held ones, or else from the transport below. -1: there are none.
        BIO_meth_set_read_ex(method) { bio, buffer, count, moved in
            guard let moved, let lower = TLSLower.of(bio), lower.beginRead() else { return -1 }
            let buffer = UnsafeMutableRawBufferPointer(start: buffer, count: min(count, lower.byteBudget))
            if !lower.held.isEmpty {
                moved.pointee = lower.takeHeld(into: buffer)
                return 1
            }
            do throws(StreamError) {
                var span = MutableRawSpan(_unsafeBytes: buffer)
                switch try lower.transport.tryRead(into: &span) {
                case .moved(let count):
                    moved.pointee = lower.take(UnsafeRawBufferPointer(rebasing: buffer.prefix(count)))
                    return 1
                case .ended: lower.isEnded = true
                case .wouldBlock(let interest): lower.readInterest = interest
                }
            } catch {
                lower.readFailure = error
            }
            return -1
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            guard let lower = TLSLower.of(bio), let bytes, count > 0 else { return -1 }
            return lower.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
        }
        // A flush has nothing to do. Every other request, including kernel TLS, is answered with "no".
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    }

    private static func of(_ bio: OpaquePointer?) -> TLSLower? {
        BIO_get_data(bio).map { Unmanaged<TLSLower>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Owns a table of BIO callbacks.
final class BIOMethod {
    let pointer: OpaquePointer

    /// Returns nil if OpenSSL is out of memory.
    init?(name: String, _ setUp: (OpaquePointer) -> Void) {
        guard let method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, name) else { return nil }
        setUp(method)
        pointer = method
    }

    deinit {
        BIO_meth_free(pointer)
    }
}

// OpenSSL only reads the table, and nothing changes it after init.
extension BIOMethod: @unchecked Sendable {}
