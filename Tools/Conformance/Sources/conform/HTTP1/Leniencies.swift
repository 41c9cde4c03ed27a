import HTTPMessage

/// The switches that stand for a row's mode, by the names that the sources give theirs.
enum Leniencies {
    /// Files of replies as clients meet them, run as a client would.
    private static let clientPrefixes = ["client:", "lenient:chromium"]

    /// Sources that are whole servers and refuse requests without Host; the others leave that to their user.
    static func requiresHost(_ row: CaseRow, file: String) -> Bool {
        row.mode == "server" || row.name.hasPrefix("jetty/")
    }

    static func of(_ row: CaseRow, file: String) -> HTTPLeniency {
        if clientPrefixes.contains(where: row.mode.hasPrefix) { return .client }
        var leniency: HTTPLeniency = requiresHost(row, file: file) ? [] : .missingHost
        for (name, flags) in table where row.mode.contains(name) { leniency.formUnion(flags) }
        return leniency
    }

    private static let table: [(String, HTTPLeniency)] = [
        // llhttp
        ("lenient-headers", [.foldedLines, .whitespaceBeforeColon, .controlCharactersInValues]),
        ("lenient-header-value-relaxed", .controlCharactersInValues),
        ("lenient-chunked-length", .transferEncodingOverridesLength),
        ("lenient-version", .anyVersion),
        ("lenient-data-after-close", .dataAfterLastMessage),
        ("lenient-keep-alive", .dataAfterLastMessage),
        ("lenient-optional-lf-after-cr", .bareCarriageReturn),
        ("lenient-optional-cr-before-lf", .bareLineFeed),
        ("lenient-spaces-after-chunk-size", .whitespaceInChunkLines),
        (
            "lenient-all",
            [
                .foldedLines, .whitespaceBeforeColon, .controlCharactersInValues, .transferEncodingOverridesLength,
                .anyVersion, .dataAfterLastMessage, .bareCarriageReturn, .bareLineFeed, .whitespaceInChunkLines,
            ]
        ),
        // httparse
        ("allow_spaces_after_header_name", .whitespaceBeforeColon),
        ("allow_obsolete_multiline_headers", .foldedLines),
        ("allow_multiple_spaces_in", .extraSpacesInStartLine),
        // gunicorn
        ("\"permit_obsolete_folding\": true", .foldedLines),
        ("\"strip_header_spaces\": true", .whitespaceBeforeColon),
        ("\"permit_unconventional_http_version\": true", .anyVersion),
        // jetty
        ("compliance:RFC2616", [.foldedLines, .transferEncodingOverridesLength]),
    ]
}
