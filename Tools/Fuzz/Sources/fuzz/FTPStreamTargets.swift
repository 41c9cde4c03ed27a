internal import FTPListing

@_spi(Packages) @testable internal import FTPStream

extension FuzzTarget {
    /// Directory listings in all formats.
    static let ftpListing = FuzzTarget(name: "ftp-listing") { bytes in
        var parser = ListingParser(ListingOptions(now: 1_700_000_000))
        var rest = bytes[...]
        do throws(ListingError) {
            while true {
                let line = Array(rest)
                let step = try parser.parse(line.span.bytes)
                if step.consumed == 0 { break }
                rest = rest.dropFirst(step.consumed)
                if let entry = step.entry { _ = "\(entry)" }
            }
            let line = Array(rest)
            for entry in try parser.finish(line.span.bytes) { _ = "\(entry)" }
        } catch {
            _ = "\(error)"
        }
    }

    /// The server's side of an FTP session: any replies at any time, parsed whole and in pieces, and passed to the state machine.
    static let ftpReplies = FuzzTarget(name: "ftp-replies") { bytes in
        let whole = replies(bytes, inPiecesOf: max(1, bytes.count))
        for size in [1, 7] where size < bytes.count {
            precondition(replies(bytes, inPiecesOf: size) == whole, "pieces of \(size) bytes: another result")
        }
        for reply in whole {
            _ = (reply.passivePort, reply.extendedPassivePort, "\(reply)", reply.text, reply.quotedPath)
            _ = FTPFeatures(reply)
        }
        for isPassive in [true, false] { converse(whole, isPassive: isPassive) }
    }

    /// Returns the replies before the first invalid one.
    private static func replies(_ bytes: [UInt8], inPiecesOf size: Int) -> [FTPReply] {
        var parser = FTPReplyParser()
        var replies: [FTPReply] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            var piece = bytes[start..<min(bytes.count, start + size)]
            while !piece.isEmpty {
                var used = 0
                do throws(FTPError) {
                    if let reply = try parser.parse(piece, used: &used) { replies.append(reply) }
                } catch {
                    return replies
                }
                precondition(used > 0)
                piece = piece.dropFirst(used)
            }
        }
        return replies
    }

    /// Passes the replies to a machine that logs in and then runs one job of each kind.
    private static func converse(_ replies: [FTPReply], isPassive: Bool) {
        var login = FTPLogin(user: [0x61], password: [0x62])
        login.control = .preferred
        login.data = .preferred
        login.isPassive = isPassive
        var machine = FTPMachine(login)
        var rest = replies[...]
        var jobs: [FTPJob] = [
            .retrieve([0x78], offset: 1, asksSize: true, isASCII: false), .list([0x78], .automatic), .size([0x78]),
            .store([0x78], .append, isASCII: true),
        ]
        var action = machine.begin()
        do throws(FTPError) {
            for _ in 0..<200 {
                switch action {
                case .send, .awaitReply:
                    guard let reply = rest.popFirst() else { return }
                    action = try machine.receive(reply)
                case .startTLS: action = try machine.didStartTLS()
                case .endTLS: action = machine.didEndTLS()
                case .connect(let port):
                    precondition(port > 0)
                    action = try machine.didConnect()
                case .listen: action = try machine.didListen(at: .ip(.v4(.loopback), port: 1))
                case .transfer:
                    action = try machine.didTransfer(jobs.count.isMultiple(of: 2) ? UInt64(rest.count) : nil)
                case .ready:
                    guard machine.isUsable, let job = jobs.popLast() else { return }
                    action = try machine.begin(job, isIPv6: jobs.count.isMultiple(of: 2))
                }
            }
        } catch {
            precondition(!error.description.isEmpty)
        }
    }
}
