import Foundation
import NetKit

/// Who answers when a server or proxy wants a password: the command line, then the person at the terminal.
struct Person: Sendable {
    /// `USER` or `USER:PASSWORD`; that for the server is in the URL.
    let proxyUser: String?
    let loginsToServers: Bool
    let loginsToProxies: Bool
    let savesPassword: Bool

    func answer(_ question: AuthenticationPrompt) async -> AuthenticationPrompt.Answer? {
        var question = question
        let isProxy = question.space.role == .proxy
        if isProxy, let proxyUser {
            let words = proxyUser.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            question.user = words[0]
            // The command line agrees to no weaker login than was asked for before; only the person at the terminal can.
            if words.count > 1, question.failure == nil, question.downgrade == nil {
                return .init(user: words[0], password: words[1])
            }
        }
        // Whoever was not told to log in does not.
        guard question.user != nil || (isProxy ? loginsToProxies : loginsToServers) else { return nil }
        guard let terminal = PasswordTerminal() else {
            Terminal.say("netkit: \(question.text) There is no terminal to ask for them.")
            return nil
        }
        return await withCheckedContinuation { [question] continuation in
            // Typing takes a while: on a thread of its own.
            Thread.detachNewThread {
                var answer = terminal.ask(question)
                answer?.saves = savesPassword
                continuation.resume(returning: answer)
            }
        }
    }
}
