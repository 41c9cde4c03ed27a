@testable internal import FTPStream

extension FuzzTarget {
    /// A server's side of a dialogue: any replies at any time, read whole and in pieces, and given to the machine that takes them.
    static let ftpReplies = FuzzTarget(name: "ftp-replies") { bytes in
        let whole = replies(bytes, inPiecesOf: max(1, bytes.count))
        for size in [1, 7] where size < bytes.count {
            precondition(replies(bytes, inPiecesOf: size) == whole, "pieces of \(size) read otherwise")
        }
        for reply in whole {
            _ = (reply.passivePort, reply.extendedPassivePort, "\(reply)", reply.text, DirectoryReply.path(reply))
            _ = FTPFeatures(reply)
        }
        for isPassive in [true, false] { converse(whole, isPassive: isPassive) }
    }

    /// The replies up to what is none.
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

    private static func converse(_ replies: [FTPReply], isPassive: Bool) {
        var login = FTPMachine.Login(user: [0x61], password: [0x62])
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
                case .transfer: action = machine.didTransfer()
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
