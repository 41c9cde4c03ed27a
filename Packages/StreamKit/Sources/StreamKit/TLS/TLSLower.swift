internal import COpenSSL
internal import EventLoops
internal import Glibc

/// OpenSSL's way to the transport below: a BIO whose callbacks try to read and to write there.
///
/// Theory of operation. A BIO can only say "failed" or "try again", and after "failed" OpenSSL takes the whole connection for
/// dead. So this one never fails: for a lower transport that would block, has ended or threw, it says "try again" and
/// remembers what happened, and ``TLSEndpoint`` looks here for the true reason. An end in one direction thus leaves
/// the other one usable, and an ECONNRESET comes out as what it is.
///
/// Writing always succeeds: what the lower transport does not take at once is kept in ``unsent``. OpenSSL encrypts a record
/// before it offers it here, and could not take it back; in this way a record that was made is a record that was written, and the
/// caller may go on with whatever bytes it likes. The endpoint makes no new record while there is something unsent, so
/// what is kept is one record, or one flight of the handshake.
final class TLSLower {
    let engine: Engine

    /// What the last read that would block waits for.
    private(set) var readInterest = Interest.readable
    /// What the unsent bytes wait for.
    private(set) var writeInterest = Interest.writable
    /// The lower transport is at its end.
    private(set) var isEnded = false
    private(set) var readFailure: StreamError?
    private(set) var writeFailure: StreamError?
    /// How many bytes came since the last time anything useful did; see ``TLSEndpoint``.
    var received = 0
    /// How many bytes the call under way may still take; see ``TLSEndpoint/bytesPerTurn``.
    private var budget = TLSEndpoint.bytesPerTurn
    /// The last read gave nothing because the budget of the call was used up.
    private(set) var isTurnSpent = false
    /// How the peer began to speak, to tell people what it is if it is not TLS.
    private(set) var beginning: [UInt8] = []

    /// Nothing that OpenSSL writes is sent any more: our farewell was the last, and what follows it may not be TLS.
    var isFinished = false

    private var unsent: [UInt8] = []
    private var sent = 0

    /// Most unsent bytes. Reached only by a peer that provokes answers and does not take them; then reading stops.
    private static let mostUnsent = 256 << 10
    private static let beginningLength = 24

    init(_ engine: Engine) {
        self.engine = engine
    }

    var hasUnsent: Bool { !unsent.isEmpty }

    /// Begins a call that may take ``TLSEndpoint/bytesPerTurn`` bytes.
    func beginTurn() {
        budget = TLSEndpoint.bytesPerTurn
        isTurnSpent = false
    }

    /// Sends what is unsent; the interest to wait for if the lower transport does not take it all.
    func flush() throws(StreamError) -> Interest? {
        if let writeFailure { throw writeFailure }
        while sent < unsent.count {
            do throws(StreamError) {
                switch try engine.tryWrite(unsent.span.bytes.extracting(droppingFirst: sent)) {
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

    private func fail(_ error: StreamError) {
        writeFailure = error
        forgetUnsent()
    }

    private func forgetUnsent() {
        unsent = []
        sent = 0
    }

    // MARK: Callbacks

    /// Makes a BIO that calls here. Whoever gets it must keep this object alive for as long as the BIO is.
    func makeBIO() -> OpaquePointer? {
        guard let method = TLSLower.method?.pointer, let bio = BIO_new(method) else { return nil }
        BIO_set_data(bio, Unmanaged.passUnretained(self).toOpaque())
        BIO_set_init(bio, 1)
        return bio
    }

    /// Fills the buffer, or gives -1.
    fileprivate func read(into buffer: UnsafeMutableRawBufferPointer) -> CInt {
        if isEnded || readFailure != nil { return -1 }
        if budget == 0 {
            isTurnSpent = true
            return -1
        }
        let buffer = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(budget))
        do throws(StreamError) {
            var span = MutableRawSpan(_unsafeBytes: buffer)
            switch try engine.tryRead(into: &span) {
            case .moved(let count):
                received += count
                budget -= count
                if beginning.count < TLSLower.beginningLength {
                    beginning += buffer.prefix(min(count, TLSLower.beginningLength - beginning.count))
                }
                return CInt(count)
            case .ended: isEnded = true
            case .wouldBlock(let interest): readInterest = interest
            }
        } catch {
            readFailure = error
        }
        return -1
    }

    /// Takes all bytes; -1 only beyond ``mostUnsent``.
    fileprivate func write(_ bytes: UnsafeRawBufferPointer) -> CInt {
        if isFinished || writeFailure != nil { return CInt(bytes.count) }
        var count = 0
        do throws(StreamError) {
            let isClear = hasUnsent ? try flush() == nil : true
            if isClear {
                send: while count < bytes.count {
                    let rest = RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: bytes[count...]))
                    switch try engine.tryWrite(rest) {
                    case .moved(let moved): count += moved
                    case .wouldBlock(let interest):
                        writeInterest = interest
                        break send
                    case .ended: throw StreamError(posix: EPIPE, .connectionLost(EPIPE))
                    }
                }
            }
            if count < bytes.count {
                if unsent.count - sent + bytes.count > TLSLower.mostUnsent { return -1 }
                unsent += bytes[count...]
            }
        } catch {
            fail(error)
        }
        return CInt(bytes.count)
    }

    /// The table of callbacks, one for the process.
    private static let method = BIOMethod(name: "StreamKit transport") { method in
        BIO_meth_set_read(method) { bio, buffer, count in
            BIO_clear_flags(bio, netkit_BIO_FLAGS_RETRY)
            guard let lower = TLSLower.of(bio), let buffer, count > 0 else { return -1 }
            let got = lower.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: Int(count)))
            if got < 0 { BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY) }
            return got
        }
        BIO_meth_set_write(method) { bio, bytes, count in
            BIO_clear_flags(bio, netkit_BIO_FLAGS_RETRY)
            guard let lower = TLSLower.of(bio), let bytes, count > 0 else { return -1 }
            let taken = lower.write(UnsafeRawBufferPointer(start: bytes, count: Int(count)))
            if taken < 0 { BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY) }
            return taken
        }
        // A flush has nothing to do; every other question, kernel TLS among them, is answered with no.
        BIO_meth_set_ctrl(method) { _, command, _, _ in command == BIO_CTRL_FLUSH ? 1 : 0 }
    }

    private static func of(_ bio: OpaquePointer?) -> TLSLower? {
        BIO_get_data(bio).map { Unmanaged<TLSLower>.fromOpaque($0).takeUnretainedValue() }
    }
}
