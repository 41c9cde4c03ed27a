import Foundation
import StreamKit
import Testing

@_spi(Packages) @testable import FTPStream

struct FTPSessionChoiceTests {
    private static func choice(
        _ url: String = "ftps://a.example/", security: FTPSecurity? = nil, _ control: FTPSecurity.Control = .required
    ) throws -> FTPSessionChoice {
        var options = FTPOptions()
        options.security = security
        return FTPSessionChoice(options, at: try FTPLocation(#require(URL(string: url))), control)
    }

    /// A machine that waits for the greeting of a server with TLS.
    private static func machine(supposesTLS: Bool = false) -> FTPMachine {
        var login = FTPLogin(user: [0x61], password: [])
        login.control = .required
        var machine = FTPMachine(login)
        _ = machine.begin()
        if supposesTLS { machine.beginsWithTLS() }
        return machine
    }

    private static let lateGreeting = StreamError(
        domain: .ssl, code: -9800, sentence: Sentence("a", "b"), reason: .foreignReply)

    @Test func silenceMayMeanTLSUnlessTheCallerSaysHowItBegins() throws {
        #expect(try Self.choice().silenceMayMeanTLS)
        #expect(try !Self.choice("ftp://a.example/").silenceMayMeanTLS)
        #expect(try !Self.choice(security: .required).silenceMayMeanTLS)
        #expect(try !Self.choice("ftps://a.example:990/", .implicit).silenceMayMeanTLS)
    }

    @Test(arguments: [
        (StreamError(.connectionLost(before: "reply")), true, true), (.closed, true, true),
        (StreamError(posix: 104), true, true), (StreamError(posix: 104), false, false),
        (StreamError(posix: 110), true, false),
        (StreamError(.timedOut(awaiting: "reply", after: .seconds(1))), true, false),
    ])
    func onlyAKeptSessionIsFoundDead(_ error: StreamError, _ isReused: Bool, _ beginsAgain: Bool) throws {
        var choice = try Self.choice()
        let isAgain = choice.beginsAgain(after: error, of: Self.machine(), isReused: isReused)
        #expect(isAgain == beginsAgain && choice.mayReuse == !beginsAgain)
        // Once: the second session is a new one, and its failure is the result.
        let isThird = beginsAgain && choice.beginsAgain(after: error, of: Self.machine(), isReused: isReused)
        #expect(!isThird)
    }

    /// A session that has received a reply was not dead.
    @Test func aReplyShowsThatTheSessionIsAlive() throws {
        var machine = Self.machine()
        _ = try machine.receive(FTPReply(code: 120, lines: [[]]))
        var choice = try Self.choice()
        let isAgain = choice.beginsAgain(after: StreamError(posix: 104), of: machine, isReused: true)
        #expect(!isAgain)
    }

    @Test func aServerThatGreetsLateIsAskedAgainOnce() throws {
        var choice = try Self.choice()
        let isPlain = choice.beginsAgain(after: Self.lateGreeting, of: Self.machine(), isReused: false)
        #expect(!isPlain && choice.silenceMayMeanTLS)
        let isAgain = choice.beginsAgain(after: Self.lateGreeting, of: Self.machine(supposesTLS: true), isReused: false)
        #expect(isAgain && !choice.silenceMayMeanTLS && !choice.mayReuse)
        let isThird = choice.beginsAgain(after: Self.lateGreeting, of: Self.machine(supposesTLS: true), isReused: false)
        #expect(!isThird)
    }
}
