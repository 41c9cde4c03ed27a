/// Media types (RFC 9110 §8.3.1): comparison, and those of files by extension.
package enum MediaType {
    /// The type and subtype in lower case, without parameters.
    package static func essence(_ value: String) -> String {
        let type = value.unicodeScalars.prefix { $0 != ";" }
        return String(type.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }).lowercased()
    }

    /// The value of `Content-Type` for a file; `application/octet-stream` for an unknown extension.
    package static func ofFile(_ name: String) -> String { known(ofFile: name) ?? "application/octet-stream" }

    /// The value of `Content-Type` for a file; nil for an unknown extension.
    package static func known(ofFile name: String) -> String? {
        guard let dot = name.unicodeScalars.lastIndex(of: ".") else { return nil }
        return byExtension[String(name.unicodeScalars[dot...].dropFirst()).lowercased()]
    }

    /// Whether compression makes a body of this type smaller. Formats that are compressed already are not listed.
    package static func isCompressible(_ type: String) -> Bool {
        let type = essence(type)
        // Events must be sent at once, and a compressor keeps bytes back.
        if type == "text/event-stream" { return false }
        return type.hasPrefix("text/") || type.hasSuffix("+json") || type.hasSuffix("+xml")
            || compressible.contains(type)
    }

    private static let compressible: Set<String> = [
        "application/json", "application/javascript", "application/xml", "application/wasm", "application/x-ndjson",
        "application/manifest+json", "image/bmp", "image/x-icon", "font/ttf", "font/otf", "application/x-tar",
    ]

    private static let byExtension: [String: String] = [
        "html": "text/html; charset=utf-8", "htm": "text/html; charset=utf-8", "css": "text/css; charset=utf-8",
        "js": "text/javascript; charset=utf-8", "mjs": "text/javascript; charset=utf-8",
        "txt": "text/plain; charset=utf-8", "md": "text/markdown; charset=utf-8", "csv": "text/csv; charset=utf-8",
        "ics": "text/calendar; charset=utf-8", "vtt": "text/vtt; charset=utf-8", "json": "application/json",
        "map": "application/json", "webmanifest": "application/manifest+json", "xml": "application/xml",
        "atom": "application/atom+xml", "rss": "application/rss+xml", "xhtml": "application/xhtml+xml",
        "wasm": "application/wasm", "pdf": "application/pdf", "zip": "application/zip", "gz": "application/gzip",
        "tar": "application/x-tar", "zst": "application/zstd", "epub": "application/epub+zip",
        "svg": "image/svg+xml", "png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif",
        "webp": "image/webp", "avif": "image/avif", "ico": "image/x-icon", "bmp": "image/bmp", "tif": "image/tiff",
        "tiff": "image/tiff", "woff": "font/woff", "woff2": "font/woff2", "ttf": "font/ttf", "otf": "font/otf",
        "mp3": "audio/mpeg", "m4a": "audio/mp4", "ogg": "audio/ogg", "opus": "audio/opus", "flac": "audio/flac",
        "wav": "audio/wav", "mp4": "video/mp4", "m4v": "video/mp4", "webm": "video/webm", "mkv": "video/x-matroska",
        "mov": "video/quicktime", "mpd": "application/dash+xml", "m3u8": "application/vnd.apple.mpegurl",
    ]
}
