import ArgumentParser
import Foundation
import NetKit

/// `netkit explain-auth`: shows the logins that a server offers and the one that netkit would use.
struct ExplainAuthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain-auth",
        abstract: "Shows the logins that a server or proxy offers, and the one that netkit would use.",
        discussion: """
            Examples:
              netkit explain-auth https://intranet.example.org/
              netkit explain-auth --auth digest,basic https://intranet.example.org/
              netkit explain-auth --json https://intranet.example.org/
              netkit explain-auth -x http://proxy:3128 https://intranet.example.org/

            The request to the server carries no password. A Kerberos ticket may be requested to see whether one is \
            available; it is sent neither to the server nor to a proxy. If a proxy requires a login first, use --proxy-user or \
            --proxy-auth, which log in to it, to see what the server offers.
            """
    )

    @Argument(help: "An http or https URL.")
    var url: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var connection: ConnectionOptions

    @OptionGroup(title: "Authentication") var login: LoginOptions

    func validate() throws {
        if URL(string: url)?.scheme?.lowercased() == "http" { try connection.requireNoTLS("use https://") }
    }

    func run() async throws {
        do {
            let session = try makeSession()
            guard let address = URLArgument.url(url), address.scheme != nil else {
                throw URLArgument.Invalid(url)
            }
            try URLArgument.checkEscapes(url)
            if let scheme = address.scheme?.lowercased(), !["http", "https"].contains(scheme) {
                throw URLArgument.unsupported(url, scheme, use: "http or https")
            }
            let request = try HTTPRequest(method: .get, url: address)
            let stream = try await withNetworkExecutor { () async throws(StreamError) in
                try await session.open(request)
            }
            defer { stream.close() }
            try await explain(stream, request, session.configuration)
        } catch {
            guard let (sentence, status) = ExitStatus.describe(error) else { throw error }
            if json { JSONOutput.show(["url": JSONOutput.url(url), "error": JSONOutput.error(error)]) }
            Terminal.say("netkit: \(sentence)")
            throw status.exitCode
        }
    }

    /// A session that does not log in to the server, and to proxies only with options for that.
    private func makeSession() throws -> HTTPSession {
        var configuration = try login.configuration(login.prompt())
        configuration.stores.origins = []
        let prompt = configuration.prompt
        configuration.prompt = { question in question.space.role == .proxy ? await prompt?(question) : nil }
        // Bans every scheme for the server, also those that need no password.
        configuration.policy.banned = Set(configuration.policy.methods)
        if !login.isUsedForProxies {
            var policy = configuration.proxyPolicy ?? AuthenticationPolicy()
            policy.banned = Set(policy.methods)
            configuration.proxyPolicy = policy
        }
        configuration.options.followsRedirects = false
        configuration.options.decodesContent = false
        if let tls = try connection.tls() { configuration.options.tls = tls }
        configuration.proxies = .settings(try connection.settings())
        return HTTPSession(configuration)
    }

    private func explain(
        _ stream: ReadStream, _ request: HTTPRequest, _ configuration: HTTPSession.Configuration
    ) async throws {
        let response = try await stream.response()
        let proxy = response.status == .proxyAuthenticationRequired ? stream[.httpAnsweringProxy] : nil
        var policy = proxy == nil ? configuration.policy : configuration.proxyPolicy ?? configuration.policy
        policy.banned = []
        let asker = proxy.map { "The proxy at \($0.host):\($0.port)" } ?? "The server"
        var facts: JSONOutput.Facts = [
            "url": JSONOutput.url(url), "from": proxy == nil ? "server" : "proxy", "status": response.status.code,
            "asks": false,
        ]
        guard
            let authentication = HTTPAuthentication(
                response: response, from: proxy?.protectionSpace, policy: policy)
        else {
            if json { return JSONOutput.show(facts) }
            return Terminal.print("\(asker) does not require a login: \(response.shownStatus).")
        }
        var signed = request
        // Only starting a scheme shows whether it can start. The signed request is not sent.
        var failure: HTTPAuthError?
        do throws(HTTPAuthError) {
            try await authentication.apply(to: &signed, nil, through: proxy?.protectionSpace)
        } catch {
            if error.code != .missingUserName, error.code != .wrongProtectionSpace { failure = error }
        }
        facts["asks"] = true
        facts.merge(Self.facts(authentication, failure)) { $1 }
        if json { return JSONOutput.show(facts) }
        let explanation = authentication.explain()
        if !explanation.entries.isEmpty || !explanation.errors.isEmpty {
            Terminal.print("\(asker) offers:")
            for line in explanation.description.split(separator: "\n") { Terminal.print("  \(String(line))") }
        }
        guard let method = authentication.method, authentication.isValid, failure == nil else {
            let option = proxy == nil ? "--auth" : "--proxy-auth"
            let exclusion = LoginOptions.exclusion(of: authentication, by: option).map { "\(asker.lowercased()) \($0)" }
            let error = (failure ?? authentication.error)?.description ?? "no reason known"
            return Terminal.print("None usable: \(exclusion ?? error).")
        }
        let needs =
            authentication.requiresUserNameAndPassword
            ? "requires a user name and a password (\(proxy == nil ? "-u" : "--proxy-user") USER)"
            : "uses the existing Kerberos ticket"
        Terminal.print(
            "\(method) \(needs)\(authentication.isConnectionBound ? ", and authenticates the connection" : "").")
        if !authentication.peer.isEncrypted {
            Terminal.print("The connection is not encrypted: \(Self.exposure(of: method)).")
        }
    }

    /// The offered schemes, and the one that would be used or the reason why none can be.
    private static func facts(_ authentication: HTTPAuthentication, _ failure: HTTPAuthError?) -> JSONOutput.Facts {
        let offers = authentication.explain().entries.map { entry -> JSONOutput.Facts in
            var offer: JSONOutput.Facts = ["scheme": entry.scheme]
            offer["realm"] = entry.realm
            switch entry.outcome {
            case .chosen: offer["outcome"] = "chosen"
            case .notNeeded: offer["outcome"] = "not needed"
            case .unknown: offer["outcome"] = "unknown"
            case .unsupported: offer["outcome"] = "unsupported"
            case .notAllowed: offer["outcome"] = "left out"
            case .banned: offer["outcome"] = "banned"
            case .needsEncryption: offer["outcome"] = "needs encryption"
            case .weaker: offer["outcome"] = "weaker"
            case .refused: offer["outcome"] = "refused"
            case .skipped(let error): (offer["outcome"], offer["reason"]) = ("skipped", error.description)
            }
            return offer
        }
        var facts: JSONOutput.Facts = ["offers": offers, "isEncrypted": authentication.peer.isEncrypted]
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
            ? "an eavesdropper can read the password"
            : "an eavesdropper can read everything but the password, and can try to guess that"
    }
}
