import ArgumentParser
import Foundation
import NetKit

/// `netkit explain-auth`: which logins a server offers, and which one would be used.
struct ExplainAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain-auth",
        abstract: "Says how a server or proxy wants users to log in, and what would be done about it.",
        discussion: """
            Examples:
              netkit explain-auth https://intranet.example.org/
              netkit explain-auth --auth digest,basic https://intranet.example.org/
              netkit explain-auth --json https://intranet.example.org/
              netkit explain-auth -x http://proxy:3128 https://intranet.example.org/

            One request is sent, without a password. A ticket may be asked for, so that it is known whether there is one; it \
            goes nowhere. Where a proxy asks first, what the server offers is known only to who logs in there.
            """
    )

    @Argument(help: "An http or https URL.")
    var url: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "Authentication") var login: LoginOptions

    func validate() throws {
        if URL(string: url)?.scheme?.lowercased() == "http" { try connection.requireNoTLS("write https://") }
    }

    func run() async throws {
        do {
            let session = try makeSession()
            guard let address = URL(string: url), address.scheme != nil else {
                throw ValidationError("'\(Terminal.shownURL(url))' is no URL; it begins with http:// or https://.")
            }
            let request = try HTTPRequest(method: .get, url: address)
            let stream = try await withNetworkExecutor { () async throws(StreamError) in
                try await session.open(request)
            }
            defer { stream.close() }
            try await explain(stream, request, session.configuration)
        } catch let error as OutputFile.Failure {
            try fail(error, error.description, .localFile)
        } catch let error as StreamError {
            try fail(error, error.description, ExitStatus(error, after: nil))
        } catch let error as HTTPMessageError {
            try fail(error, "The request cannot be sent: \(error).", .badURL)
        } catch let error as HTTPAuthError {
            try fail(error, Terminal.sentence(error), .localFile)
        }
    }

    private func fail(_ error: any Error, _ sentence: String, _ status: ExitStatus) throws -> Never {
        if json { JSONOutput.show(["url": JSONOutput.url(url), "error": JSONOutput.error(error)]) }
        Terminal.say("netkit: \(sentence)")
        throw status.exitCode
    }

    /// A session that logs in to proxies, but not to the server.
    private func makeSession() throws -> HTTPSession {
        let tls = try connection.tls()
        let settings = try connection.settings()
        var configuration = try login.configuration()
        configuration.stores.origins = []
        let prompt = configuration.prompt
        configuration.prompt = { question in question.space.role == .proxy ? await prompt?(question) : nil }
        // Nothing is sent to the server: not even what needs no password.
        configuration.policy.banned = Set(configuration.policy.methods)
        configuration.prepare = { (stream) throws(StreamError) in
            if let tls { try stream.set(.tls, to: tls) }
            try stream.set(.httpProxySettings, to: settings)
        }
        return HTTPSession(configuration)
    }

    private func explain(
        _ stream: ReadStream, _ request: HTTPRequest, _ configuration: HTTPSession.Configuration
    ) async throws {
        let response = try await stream.response()
        let proxy = response.status == .proxyAuthenticationRequired ? stream[.httpAnsweringProxy] : nil
        var policy = proxy == nil ? configuration.policy : configuration.proxyPolicy ?? configuration.policy
        policy.banned = []
        let place = proxy.map { "The proxy at \($0.host):\($0.port)" } ?? "The server"
        var facts: JSONOutput.Facts = [
            "url": JSONOutput.url(url), "from": proxy == nil ? "server" : "proxy", "status": response.status.code,
            "asks": false,
        ]
        guard
            let authentication = HTTPAuthentication(
                response: response, from: proxy?.protectionSpace, policy: policy)
        else {
            if json { return JSONOutput.show(facts) }
            return Terminal.print("\(place) does not ask for a login: \(response.statusLine).")
        }
        var signed = request
        // Whether a scheme can start is known by starting it; nothing of it is sent.
        var failure: HTTPAuthError?
        do throws(HTTPAuthError) {
            try await authentication.apply(to: &signed, nil, through: proxy?.protectionSpace)
        } catch {
            if error.code != .missingUserName, error.code != .wrongProtectionSpace { failure = error }
        }
        facts["asks"] = true
        facts.merge(Self.facts(authentication, failure)) { $1 }
        if json { return JSONOutput.show(facts) }
        Terminal.print("\(place) offers:")
        for line in authentication.explain().description.split(separator: "\n") {
            Terminal.print("  \(String(line))")
        }
        guard let method = authentication.method, authentication.isValid, failure == nil else {
            let reason = (failure ?? authentication.error)?.description ?? "no reason known"
            return Terminal.print("None can be used: \(reason).")
        }
        let needs =
            authentication.requiresUserNameAndPassword
            ? "needs a user name and a password (\(proxy == nil ? "-u" : "--proxy-user") USER)"
            : "uses the ticket that there is"
        Terminal.print(
            "\(method) \(needs)\(authentication.isConnectionBound ? ", and authenticates the connection" : "").")
        if !authentication.place.isEncrypted {
            Terminal.print("The connection is not encrypted: \(Self.exposure(of: method)).")
        }
    }

    /// What is offered, and what would be used if something can be.
    private static func facts(_ authentication: HTTPAuthentication, _ failure: HTTPAuthError?) -> JSONOutput.Facts {
        let offers = authentication.explain().entries.map { entry -> JSONOutput.Facts in
            var offer: JSONOutput.Facts = ["scheme": entry.scheme]
            offer["realm"] = entry.realm
            switch entry.outcome {
            case .chosen: offer["outcome"] = "chosen"
            case .notNeeded: offer["outcome"] = "not needed"
            case .unknown: offer["outcome"] = "unknown"
            case .leftOut: offer["outcome"] = "left out"
            case .banned: offer["outcome"] = "banned"
            case .needsEncryption: offer["outcome"] = "needs encryption"
            case .weaker: offer["outcome"] = "weaker"
            case .refused: offer["outcome"] = "refused"
            case .skipped(let error): (offer["outcome"], offer["reason"]) = ("skipped", error.description)
            }
            return offer
        }
        var facts: JSONOutput.Facts = ["offers": offers, "isEncrypted": authentication.place.isEncrypted]
        if let method = authentication.method, authentication.isValid, failure == nil {
            facts["method"] = method.name
            facts["needsPassword"] = authentication.requiresUserNameAndPassword
            facts["bindsConnection"] = authentication.isConnectionBound
        } else {
            facts["reason"] = (failure ?? authentication.error)?.description
        }
        return facts
    }

    private static func exposure(of method: AuthenticationMethod) -> String {
        method == .basic
            ? "whoever listens reads the password"
            : "whoever listens sees all but the password, and may try passwords on it"
    }
}
