import FoundationEssentials
import HTTPStream

/// Logs in to a site, whose cookie all further requests carry, and visits each of its pages once.
@main struct Consumer {
    static func main() async throws {
        let site = try Site()
        async let serving: Void = site.run()
        var configuration = HTTPSession.Configuration()
        configuration.proxies = .direct
        configuration.retries = RetryPolicy(maximumRetries: 2)
        let crawler = Crawler(session: HTTPSession(configuration))
        var login = try HTTPRequest(method: .post, url: site.url.appending(path: "login"))
        login.setForm([("user", "ann"), ("password", "open sesame")])
        print("login:", try await crawler.session.load(login).status)
        let statuses = await crawler.crawl(from: site.url, limit: 1000)
        print("pages:", statuses.count, "found:", statuses.values.count { $0 == .ok })
        print("cookies:", crawler.session.cookies?.all.map(\.name) ?? [], "connections:", await site.connections)
        site.stop()
        try await serving
    }
}

struct Crawler: Sendable {
    let session: HTTPSession

    /// Loads the pages that can be reached from a URL at the same origin. The session limits the number of connections.
    func crawl(from start: URL, limit: Int) async -> [URL: HTTPStatus] {
        var statuses: [URL: HTTPStatus] = [:]
        var seen: Set = [start]
        await withTaskGroup(of: (URL, HTTPStatus?, [URL]).self) { group in
            group.addTask { await visit(start) }
            for await (url, status, links) in group {
                statuses[url] = status
                for link in links where link.host() == start.host() && seen.count < limit {
                    if seen.insert(link).inserted { group.addTask { await visit(link) } }
                }
            }
        }
        return statuses
    }

    /// Loads a page. Returns its status, nil for a failure, and its links.
    func visit(_ url: URL) async -> (URL, HTTPStatus?, [URL]) {
        guard let page = try? await session.get(url, limit: 1 << 20, within: .seconds(30)) else {
            return (url, nil, [])
        }
        guard let text = page.text, page.fields[.contentType]?.hasPrefix("text/html") == true else {
            return (url, page.status, [])
        }
        let parts = text.split(separator: "<a href=\"", omittingEmptySubsequences: false).dropFirst()
        let links = parts.compactMap {
            URL(string: String($0.prefix { $0 != "\"" && $0 != "#" }), relativeTo: url)?.absoluteURL
        }
        return (url, page.status, links)
    }
}
