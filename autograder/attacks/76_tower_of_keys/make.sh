# A key of a hundred thousand parts, each a table inside the previous one.
head -c 200000 /dev/zero | tr '\0' 'a' | sed 's/aa/a./g; s/.$/a = 1/' > "$1/predictions.toml"
